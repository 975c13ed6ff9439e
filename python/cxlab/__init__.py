"""CXLab: what will CXL memory do for my program and my bill?"""
